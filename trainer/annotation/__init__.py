"""What people's comparisons need of models: completions to compare, and a reward model's opinion of them."""
