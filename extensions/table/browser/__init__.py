"""The table in a browser: the server, its messages, and the page that it sends."""
