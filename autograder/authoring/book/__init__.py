"""The book: all lessons, assignments and guides as a static site, made by Sphinx from the notebooks as they are stored."""
