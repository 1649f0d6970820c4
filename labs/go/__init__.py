"""The lab Go: students add the pass and the rule for two passes in a simulation."""
