"""MuZero for one small board: model, targets, loss, search and reanalysis."""
