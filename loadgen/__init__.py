"""Does speculative decoding pay on your llama-server, with several agents at work? Measured, with its uncertainty."""

__all__ = ["__version__"]

__version__ = "0.1.0"
