"""People sign in with a browser: by an OpenID provider, or with a token."""
