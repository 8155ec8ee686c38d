"""The exercise distillation_loss: its declaration, and its mistakes about the teacher."""
