"""The exercise subspace_overlap: its declaration, and its mistakes."""
