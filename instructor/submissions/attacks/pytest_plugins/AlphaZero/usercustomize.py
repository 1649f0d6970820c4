open("/tmp/gomoku-attack-sitecustomize", "w").write("ran")
