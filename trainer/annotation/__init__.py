"""Model work for annotation: completions to compare, and a reward model's scores of them."""
