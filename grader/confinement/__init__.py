"""The walls between a submission's programs and the machine that grades them."""
