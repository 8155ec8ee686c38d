"""Small models that lessons share, and the loop that trains them. No model that an assignment asks for."""
