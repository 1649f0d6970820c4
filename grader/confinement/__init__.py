"""What keeps a submission's programs apart from the machine that grades them."""
