"""How a norm is called: what the user names, in every framework, as a function of rows and parameters."""
