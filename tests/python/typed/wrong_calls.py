"""Calls that mypy refuses, each by the error of its line."""

import intaglio

net = intaglio.open("net.itg")
intaglio.import_onnx("net.onnx", pixels="0..2")  # E: arg-type
intaglio.import_onnx("net.onnx", pixel="0..1")  # E: call-arg
intaglio.import_onnx("net.onnx", batch="1")  # E: arg-type
intaglio.import_onnx("net.onnx", shape=(1, 3, 28, 28))  # E: arg-type
intaglio.import_onnx("net.onnx", focus=1)  # E: arg-type
intaglio.import_tflite("net.tflite", color="yuv")  # E: arg-type
intaglio.import_openvino("net.xml", stream="time")  # E: arg-type
intaglio.calibrate(net, "pictures", metod="mse")  # E: call-arg
intaglio.calibrate(net, "pictures", method="best")  # E: arg-type
intaglio.calibrate(net, "pictures", percentile="0.99")  # E: arg-type
intaglio.calibrate(net, "pictures", int8_answers="yes")  # E: arg-type
intaglio.calibrate(net, "pictures", output="x.itg")  # E: call-arg
intaglio.calibrate(net, "pictures", memory=0.5)  # E: arg-type
intaglio.calibrate(net, "pictures", progress=3)  # E: arg-type
intaglio.compare(net, net)  # E: call-arg
intaglio.compare(net, net, "pictures", limit="all")  # E: arg-type
intaglio.evaluate(net, "pictures")  # E: call-arg
intaglio.evaluate(net, "pictures", "labels.txt", steps=0.5)  # E: arg-type
intaglio.compare(net, net, "pictures", score="0.5")  # E: arg-type
intaglio.simulate(net)  # E: call-arg
intaglio.simulate(net, "pictures", exact=1)  # E: arg-type
intaglio.simulate(net, "pictures", recover="bias")  # E: call-arg
intaglio.plan(net, memory=0.5)  # E: arg-type
intaglio.plan(net, feed_rows="yes")  # E: arg-type
intaglio.plan(net, 1000)  # E: misc
intaglio.export_c(net)  # E: call-arg
intaglio.export_c(net, "folder", planned="no")  # E: arg-type
intaglio.export_onnx(net, "net.onnx")  # E: call-arg
intaglio.export_onnx(net, "net.onnx", "out.onnx", form="int8")  # E: arg-type
intaglio.export_tflite(net, 3)  # E: arg-type
net.inspect(4)  # E: arg-type
net.inspect(op=True)  # E: call-arg
net.bench(repeats="9")  # E: arg-type
net.save(3)  # E: arg-type
net.threads = "2"  # E: assignment
