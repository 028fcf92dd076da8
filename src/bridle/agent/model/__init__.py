"""The model: requests to a Messages API endpoint and the pieces of its answers. May not import `tools`."""
