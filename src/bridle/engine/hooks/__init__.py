"""Native hooks: finding, trusting and running them. Imports no other package of `engine`."""
