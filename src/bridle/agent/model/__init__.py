"""The model: requests to a Messages API endpoint and what comes back, piece by piece."""
