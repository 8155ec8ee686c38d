"""What exercises of several units share: mistakes, what they need, and how cases are drawn. Nothing here names an exercise."""
