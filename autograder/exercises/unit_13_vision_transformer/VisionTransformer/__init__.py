"""The exercise VisionTransformer: its declaration, and its mistakes by what they are about."""
