@testable import MeshDiscovery

func name(_ text: String) -> DNSName {
    // Names in tests are always valid.
    (try? DNSName(text)) ?? .root
}

let typeName = name("_sessionmesh._tcp.local")

func instanceName(_ label: String) -> DNSName { (try? typeName.prefixed(by: Array(label.utf8))) ?? .root }

func bytes(of message: DNSMessage) -> [UInt8] {
    var writer = DNSWriter()
    for question in message.questions { _ = writer.append(question) }
    for record in message.answers { _ = writer.append(record, to: .answers) }
    for record in message.authorities { _ = writer.append(record, to: .authorities) }
    for record in message.additionals { _ = writer.append(record, to: .additionals) }
    return writer.message(id: message.id, flags: message.flags)
}

func query(_ questions: DNSQuestion..., known: [DNSRecord] = [], authorities: [DNSRecord] = []) -> DNSMessage {
    var message = DNSMessage()
    message.questions = questions
    message.answers = known
    message.authorities = authorities
    return message
}

func response(_ answers: [DNSRecord], additionals: [DNSRecord] = []) -> DNSMessage {
    var message = DNSMessage()
    message.flags = [.response, .authoritative]
    message.answers = answers
    message.additionals = additionals
    return message
}

func pointer(_ instance: String, lifetime: UInt32 = 4500) -> DNSRecord {
    DNSRecord(typeName, .pointer(instanceName(instance)), lifetime: lifetime)
}

func service(_ instance: String, port: UInt16 = 4000, host: String, lifetime: UInt32 = 120) -> DNSRecord {
    DNSRecord(
        instanceName(instance), .service(port: port, target: name(host)), lifetime: lifetime, flushesCache: true)
}

func text(_ instance: String, _ attributes: [ServiceAttribute] = [], lifetime: UInt32 = 4500) -> DNSRecord {
    DNSRecord(instanceName(instance), .text(TextAttributes.encode(attributes)), lifetime: lifetime, flushesCache: true)
}

func address(_ host: String, _ ip: IPAddress, lifetime: UInt32 = 120) -> DNSRecord {
    DNSRecord(name(host), .address(ip), lifetime: lifetime, flushesCache: true)
}

/// All records of one service.
func wholeService(_ instance: String, port: UInt16 = 4000, host: String = "h.local", ip: IPAddress) -> DNSMessage {
    response(
        [pointer(instance)],
        additionals: [
            service(instance, port: port, host: host), text(instance), address(host, ip),
        ])
}
