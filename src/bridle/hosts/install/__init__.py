"""The plugin: rendering, installing and finding it. No hook imports it."""
