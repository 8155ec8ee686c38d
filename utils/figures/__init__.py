"""What lessons draw: plots, diagrams, unrolled models, maps and explorers. No computing of what is drawn."""
