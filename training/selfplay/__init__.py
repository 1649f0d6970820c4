"""Self-play, and the long runs that learn from it.

    game_stream, fast                an endless stream of games; train.py --fast
    balanced_openings                random stones after which a game is open
    presets                          the settings of a run
    replay_buffer                    every game on disk, and the latest positions to learn from
    workers, ray_workers             members of a run that play, on this machine or on a cluster
    learner, run_report, long_run    learning and checkpoints; figures and curves; the command

`python -m training.selfplay` is the command.
"""
