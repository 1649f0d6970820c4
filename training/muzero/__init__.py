"""MuZero (Schrittwieser et al. 2020, "Mastering Atari, Go, chess and shogi by planning with a learned model") with reanalysis.

The search knows the rules only at the root: which moves are legal there, and what the position looks like. Everything below
happens in the latent states of a model that is learnt from the games, in the tree that serves AlphaZero as well
(`training/search/latent.py`). `python -m training.muzero` is the command. From there
upwards:

    latent_model      the model: representation h, dynamics g, prediction f
    muzero_settings   settings of a run, and presets
    whole_games       self-play of whole games, and the file of them
    unrolled_targets  K steps of a game as targets: values by player, absorbing states after the end
    unrolled_loss     the loss over these K steps
    reanalysis        targets of old positions, searched again with the latest model
    exact_player      the player against every line of replies; the model against the real rules
    muzero_run        the loop: play, reanalyse, learn, measure, save

Values are for the side to move, in latent states too: the model learns that the sides alternate.
"""
