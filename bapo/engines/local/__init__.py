"""The local engine: one process, CPU or one CUDA GPU, any causal language model in Hugging Face format."""
