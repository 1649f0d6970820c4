"""Networks, and how they are computed fast: by torch, by OpenVINO, on a GPU, with a cache of positions."""
