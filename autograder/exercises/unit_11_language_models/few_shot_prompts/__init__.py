"""The exercise few_shot_prompts: its declaration, and its mistakes by what they are about."""
