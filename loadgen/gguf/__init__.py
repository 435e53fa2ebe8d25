"""GGUF model files."""
