"""The lab NoGo: students write the rules and let their own AlphaZero search play by them."""
