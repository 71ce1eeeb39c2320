"""Whether the Hugging Face hub answers: asked once and briefly, where its clients would try for half a minute."""

import functools
import os
import threading

_SECONDS = 8


@functools.cache
def hub_silence() -> str:
    """Why the hub cannot be reached; empty if it answers anything, or if ``HF_HUB_OFFLINE`` says not to ask."""
    import huggingface_hub

    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return ""
    silence = [f"nothing in {_SECONDS} s"]

    def ask() -> None:
        try:
            huggingface_hub.get_session().head(huggingface_hub.constants.ENDPOINT, timeout=_SECONDS)
            silence[0] = ""
        except Exception as error:  # whichever library makes the request, and whatever is wrong with it
            silence[0] = " ".join(str(error).split())[:120] or type(error).__name__

    # The time limits of huggingface_hub do not hold for the look-up of the host's name, and transformers asks for one
    # file after the other: without a thread of its own the answer may take minutes.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return silence[0]
