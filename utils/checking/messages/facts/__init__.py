"""The sentences of facts, a module for each that finds them, and the words for circumstances. Nothing is found here."""
