# Where the published classifiers are.
checkpoints = 'https://github.com/zhoudaquan/fully_attentional_network_ckpt/releases/download/v1.0.0'
