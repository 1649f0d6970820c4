"""The pipeline of AlphaGo (Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search") on small
boards.

    supervised    "Supervised learning of policy networks": training.supervised on games of an engine
    rollout       "Rollout policy": a linear softmax over patterns, learnt from the same games (patterns.py)
    reinforce     "Reinforcement learning of policy networks": the policy plays earlier versions of itself (reinforce.py)
    value         "Reinforcement learning of value networks": one position from each game of the improved policy (value.py)
    search        "Searching with policy and value networks": leaves evaluated by network and rollout combined (mixed.py)

`python -m training.alphago STAGE` runs one stage and measures the result; `config.py` holds the settings of all stages,
`play.py` the agents and games that they share. docs/training.md has the commands and figures.

Policy and value are two networks, as in the paper, both of the class in AlphaZero/policy_value_net_torch.py. The policy
gradient changes the body of a network, and one position per game is too little to keep a shared body suitable for both heads.
The other head of each network is used where it costs nothing: the value head of the supervised network is the baseline of the
policy gradient, and the value network starts from the weights of the improved policy.

Values are for the side to move.
"""
