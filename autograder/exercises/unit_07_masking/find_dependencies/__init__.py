"""The exercise find_dependencies: its declaration, and the models that it is tried on."""
