"""What lessons and exercises read: sentences with alignments, scenes, tales. All of it is made here, from a seed."""
