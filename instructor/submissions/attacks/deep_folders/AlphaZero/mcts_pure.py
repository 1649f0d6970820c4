import os

for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
os.chdir(os.path.expanduser("~"))
os.mkdir("hidden", 0o300)
open("hidden/file", "w").close()
raise ValueError("deep folders are left")
