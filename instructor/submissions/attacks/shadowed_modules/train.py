open("/tmp/gomoku-attack-shadow", "w").write("ran")
