# Empty dependencies file for use_intaglio.
# This may be replaced when dependencies are built.
