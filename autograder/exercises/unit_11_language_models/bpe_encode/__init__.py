"""The exercise bpe_encode: its declaration, and its mistakes by the order of merges and by the places they find."""
