"""The known hosts, as data. May import `sessions`; must stay light, since every hook imports it."""
