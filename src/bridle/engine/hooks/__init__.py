"""Native hooks: finding and running them, if they are trusted. Imports no other package of `engine`."""
