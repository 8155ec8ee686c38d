"""Unit 11, language models: byte pair encoding, a GPT, perplexity, sampling, prompts with examples, counting."""

EXERCISES = (  # in the assignment's order
    "byte_pair_merges",
    "bpe_encode",
    "bpe_decode",
    "GPT",
    "perplexity",
    "next_token_distribution",
    "few_shot_prompts",
    "count_gpt",
    "induction_scores",
)
