"""The pages for browsers below ``/ui``: made on the server from what the routes of the interface use, readable without JavaScript."""
