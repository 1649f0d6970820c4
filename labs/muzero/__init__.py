"""The lab MuZero: students write the model, the loss, the search and the reanalysis of an agent that knows no rules."""
