"""Training beyond the loop of train.py; knows a board and a network by their methods, and no grader.

`exact` plays an agent against every line of replies. The rest is self-play at speed, many games side by side, their searches
in lockstep, the leaves of all in one batch of the network. From the rules upwards: `boards` (games as arrays), `symmetries`,
`inference` (the network made fast, a cache of positions), `tree` (the search trees of all games as arrays), `search` (PUCT,
Silver et al. 2017), `gumbel` (Danihelka et al. 2022), `selfplay` (games without end), `samples` (what is kept of them),
`rollouts` (random games in the place of a network), `matches` (games between two agents, with statistics of the arena). A run
that lasts is `run` (the command) over `presets`, `replay` (its games on the disk), `workers` (who plays, here or by
`ray_workers` on a cluster), `learner` (what it knows), `ratings` and `report`. Of the student's modules these use only the
network. `dataset`, `supervised` and `export` teach it an engine's games; `alphago` goes on from there in the stages of Silver
et al. 2016.
"""
