"""Searches of many games in lockstep: the leaves of all games form one batch for the network.

    paths, tree      the walks of one playout, and the trees as arrays
    steps, latent    what the edges of a tree lead to: a game's rules and a network, or a learnt model
    puct, gumbel     PUCT (Silver et al. 2017) and Gumbel AlphaZero (Danihelka et al. 2022)
    rollouts         random games in place of a network

All values are for the side to move at a node.
"""
