"""A zeroskid of another build, for the tests of the cache: one whose build-id is another."""
import os
import re
import shutil
import subprocess


def another_version(zeroskid, folder):
    """Makes one in `folder`. Returns its path."""
    runner = os.path.join(os.path.dirname(zeroskid), "zeroskid-run")
    notes = subprocess.run(["readelf", "-n", runner], capture_output=True, text=True, check=True).stdout
    build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])
    with open(runner, "rb") as file:
        text = file.read()
    if text.count(build_id) != 1:
        raise AssertionError(f"{runner}: its build-id is in it {text.count(build_id)} times")
    os.mkdir(os.path.join(folder, "older"))
    older = os.path.join(folder, "older", "zeroskid")
    shutil.copy(zeroskid, older)
    with open(older + "-run", "wb") as file:
        file.write(text.replace(build_id, bytes(byte ^ 0x55 for byte in build_id)))
    os.chmod(older + "-run", 0o755)
    return older
