"""The settings of the loop: the table of keys, and `bridle.toml` files. Imports only `loop.text`."""
