"""What the model sees, decided by pure functions; two thin acts (summarise, restore) use them."""
