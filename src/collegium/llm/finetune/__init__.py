"""Fine-tuning of small agents: LoRA, tree-shaped examples, a plain training loop."""
