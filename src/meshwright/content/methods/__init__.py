"""Methods of assignment that need no linear program, one family a file."""
